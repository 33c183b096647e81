/* Shortest ways over a floor's free cells.
 *
 * Cells are numbered row by row; row is y, column is x. From a free cell one gets to the eight
 * around it that are free, diagonally only where both cells are free that lie between. Lengths are
 * metres, in the map's axes, unless said otherwise. cffi reads this file, so it has declarations
 * only.
 */

/* A grid over a floor, with room for one search at a time: each array has an entry for each cell. */
typedef struct {
    intptr_t rows, columns;
    double x_m, y_m;       /* the lower left corner */
    double cell_m;
    const uint8_t *free;
    uint8_t *state;        /* what a search has found out about a cell */
    int32_t *gone;         /* how much of a way lies before a cell */
    int32_t *before;       /* the cell before it on its way */
    int32_t *place;        /* where in the heap */
    int32_t *heap;
    uint64_t *order;       /* the lowest is tried next */
} Grid;

/* The shortest way between two free cells, both included, the start first; the number of cells.
 *
 * 0 where there is none. No cell is free with its middle in one of the discs (count, 3), given by
 * their middles and radii, but for the start. Of ways of one length always the same is found.
 * `length` is the way's, in cells.
 */
intptr_t way_between(Grid *grid, intptr_t start, intptr_t goal, const double *discs,
                     intptr_t disc_count, int32_t *cells, double *length);

/* The shortest way to a cell that is farther from all of some points (count, 2) than a gap. */
intptr_t way_off(Grid *grid, intptr_t start, const double *points_m, intptr_t count,
                 double gap_m, const double *discs, intptr_t disc_count, int32_t *cells);

/* Leaves of a way's cells the corners that are needed to walk it in straight lines over free
 * floor; how many.
 */
intptr_t straighten(const Grid *grid, int32_t *cells, intptr_t count);
