/* The arithmetic of looks: which boxes are in a picture, and which geoms rays to them may meet.
 *
 * Lengths are metres, in the map's axes unless said otherwise. Rows number the boxes of a world,
 * geoms the shapes of its scene. cffi reads this file, so it has declarations only.
 */

/* Where a box is looked at: its probes, then its corners. */
enum { PROBES = 6, CORNERS = 8 };

typedef struct {
    double fx_px, fy_px, cx_px, cy_px, width_px, height_px;
    double near_m, far_m;
} Lens;

/* An eye's place and the axes of its optical frame as rows: right, down, ahead. */
typedef struct {
    Lens lens;
    double at_m[3];
    double axes[3][3];
} Eye;

/* What there is to see. Arrays by row, then arrays by geom; those that are not const are written. */
typedef struct {
    intptr_t agents_from;       /* the first row of an agent */
    const double *shares;       /* (PROBES + CORNERS, 3) a box's points as parts of its half extents */
    const double *halves_m;     /* (rows, 3) */
    double *points_m;           /* (rows, PROBES + CORNERS, 3) */
    double *centers_m;          /* (rows, 3) */
    const double *slacks_m;     /* how far outside of the picture a centre may lie */
    const uint8_t *may_show;
    const intptr_t *regions;    /* of the walls' screens; the last for what is never hidden */
    const int32_t *instances;
    const intptr_t *geoms_from; /* (rows + 1,) where a row's geoms begin in `geoms_of` */
    const intptr_t *geoms_of;
    intptr_t geoms;
    const double *geom_at_m;    /* (geoms, 3) */
    const double *geom_radius_m;
    const int32_t *groups;
    const int32_t *instance_of_geom;
    int32_t *shown;             /* the group that rays find a geom in */
} Boxes;

/* What one look finds, with room for all rows. */
typedef struct {
    intptr_t in_view;     /* how many rows have their centre in the picture, */
    intptr_t *view;       /* and which */
    intptr_t count;       /* how many of these fill enough of it: `rows`, `fractions` ... */
    intptr_t *rows;
    double *fractions;    /* of the picture, were nothing in the way */
    double *pixels;       /* (rows, 2) of the centre; only `tally` fills it and the next */
    double *distances_m;  /* of the centre, along the view */
    double *rays;         /* (rows * PROBES, 3) unit vectors from the eye to the probes */
    double *probes_m;     /* (rows * PROBES, 3) the same ends in the optical frame */
} Look;

/* Puts the middle of a row's box somewhere and turns it. */
void place(Boxes *boxes, intptr_t row, double x, double y, double z, double yaw);

/* Puts an eye with a lens somewhere, and chooses those of some rows that are in its picture and
 * fill at least so much of it; how many are in the picture.
 *
 * It looks along a heading, seen from above, and down by a tilt. `own` is the row of who looks;
 * `hidden` (regions) what walls hide, or NULL. Agents are looked for at any distance, the rest up
 * to `farthest_m` along the floor.
 */
intptr_t glance(const Boxes *boxes, Eye *eye, const Lens *lens, double x, double y, double z,
                double heading, double tilt, const intptr_t *from, intptr_t count, intptr_t own,
                const uint8_t *hidden, double farthest_m, double least_fraction, Look *look);

/* Makes the rays to what was chosen, and shows them only the geoms that they may meet.
 *
 * Geoms of the group `through` and of the rows `held` are not shown, the rest of those that may
 * be met each in its own group; what is not shown is in the group `unseen`.
 */
void aim(Boxes *boxes, const Eye *eye, int32_t unseen, int32_t through, const intptr_t *held,
         intptr_t held_count, Look *look);

/* Keeps what rays met: `hits` (count * PROBES) are the first geoms in their way, -1 for none.
 *
 * A fraction becomes smaller by the share of a box's probes that another thing hides.
 */
void tally(const Boxes *boxes, const Eye *eye, const int32_t *hits, Look *look);

/* Straight walls up to the ceiling, and regions that they may hide, seen from above. */
typedef struct {
    intptr_t walls;
    const double *starts_m;  /* (walls, 2) */
    const double *along;     /* (walls, 2) unit vectors */
    const double *lengths_m;
    intptr_t regions;
    const double *corners_m; /* (regions, 4, 2) */
    double margin_m;         /* so far off its line is a region surely on one side of a wall */
} Walls;

/* Tells of each region whether one wall hides all of it from all of a square with (4, 2) corners. */
void hide(const Walls *walls, const double *square_m, uint8_t *hidden);
