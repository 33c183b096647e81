/* Visibility: which boxes are in a picture, and which geoms rays to them may hit.
 *
 * Lengths are metres, in the map's axes unless said otherwise. Rows are the boxes of a world,
 * geoms the shapes of its scene. cffi reads this file, so it has declarations only.
 */

/* Sample points of a box: its probes, then its corners. */
enum { PROBES = 6, CORNERS = 8 };

typedef struct {
    double fx_px, fy_px, cx_px, cy_px, width_px, height_px;
    double near_m, far_m;
} Lens;

/* A camera's position and the axes of its optical frame as rows: right, down, ahead. */
typedef struct {
    Lens lens;
    double at_m[3];
    double axes[3][3];
} Eye;

/* The scene. Arrays by row, then arrays by geom; those that are not const are written. */
typedef struct {
    intptr_t agents_from;       /* the first row of an agent */
    const double *shares;       /* (PROBES + CORNERS, 3) a box's points as shares of its half extents */
    const double *halves_m;     /* (rows, 3) */
    double *points_m;           /* (rows, PROBES + CORNERS, 3) */
    double *centers_m;          /* (rows, 3) */
    const double *slacks_m;     /* how far outside the picture a centre may be */
    const uint8_t *may_show;
    const intptr_t *regions;    /* of `Walls`; the last one is never hidden */
    const int32_t *instances;
    const intptr_t *geoms_from; /* (rows + 1,) start of a row's geoms in `geoms_of` */
    const intptr_t *geoms_of;
    intptr_t geoms;
    const double *geom_at_m;    /* (geoms, 3) */
    const double *geom_radius_m;
    const int32_t *groups;
    const int32_t *instance_of_geom;
    int32_t *shown;             /* the current group of a geom, by which rays are filtered */
} Boxes;

/* The result of one view, with room for all rows. */
typedef struct {
    intptr_t in_view;     /* number of rows with their centre in the picture */
    intptr_t *view;       /* these rows */
    intptr_t count;       /* number of those with a sufficient share: `rows`, `fractions` ... */
    intptr_t *rows;
    double *fractions;    /* of the picture, without occlusion */
    double *pixels;       /* (rows, 2) of the centre; filled by `tally` only, as is the next */
    double *distances_m;  /* of the centre, along the view axis */
    double *rays;         /* (rows * PROBES, 3) unit vectors from the camera to the probes */
    double *probes_m;     /* (rows * PROBES, 3) the probes in the optical frame */
} Look;

/* Sets the centre and yaw of a row's box. */
void place(Boxes *boxes, intptr_t row, double x, double y, double z, double yaw);

/* Sets the camera's pose and intrinsics, and selects those of some rows that are in its picture
 * with at least a share of it; returns the number in the picture.
 *
 * It points along a heading, seen from above, and down by a tilt. `own` is the observer's row;
 * `hidden` (regions) what walls hide, or NULL. Agents are searched for at any distance, the rest up
 * to `farthest_m` along the floor.
 */
intptr_t glance(const Boxes *boxes, Eye *eye, const Lens *lens, double x, double y, double z,
                double heading, double tilt, const intptr_t *from, intptr_t count, intptr_t own,
                const uint8_t *hidden, double farthest_m, double least_fraction, Look *look);

/* Computes the rays to the selected rows, and enables only the geoms that they may hit.
 *
 * Geoms of the group `through` and of the rows `held` are disabled; others that may be hit are in
 * their own groups, and all disabled ones in the group `unseen`.
 */
void aim(Boxes *boxes, const Eye *eye, int32_t unseen, int32_t through, const intptr_t *held,
         intptr_t held_count, Look *look);

/* Keeps the rows that rays hit: `hits` (count * PROBES) are the first geoms hit, -1 for none.
 *
 * A fraction is reduced by the share of a box's probes that are hidden.
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
    double margin_m;         /* a region this far off a wall's line is certainly on one side */
} Walls;

/* For each region, whether one wall hides all of it from a whole square with (4, 2) corners. */
void hide(const Walls *walls, const double *square_m, uint8_t *hidden);
