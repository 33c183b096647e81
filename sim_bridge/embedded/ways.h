/* Shortest paths over a floor's free cells.
 *
 * Cells are numbered row by row; row is y, column is x. Cells are 8-connected,
 * diagonally only if both cells in between are free. Lengths are
 * metres, in the map's axes, unless said otherwise. cffi reads this file, so it has declarations
 * only.
 */

/* A grid over a floor, with room for one search at a time: each array has one entry per cell. */
typedef struct {
    intptr_t rows, columns;
    double x_m, y_m;       /* lower left corner */
    double cell_m;
    const uint8_t *free;
    uint8_t *state;        /* state of a cell in the search */
    int32_t *gone;         /* cost from the start to a cell */
    int32_t *before;       /* predecessor of a cell */
    int32_t *place;        /* position in the heap */
    int32_t *heap;
    uint64_t *order;       /* priority, lowest first */
} Grid;

/* The shortest path between two free cells, including both; returns the number of cells, 0 if
 * there is no path.
 *
 * Except for the start, cells with their centre in one of the discs (count, 3: centre and radius)
 * are not free. Of equally short paths the same one is always found. `length` is in cells.
 */
intptr_t way_between(Grid *grid, intptr_t start, intptr_t goal, const double *discs,
                     intptr_t disc_count, int32_t *cells, double *length);

/* The shortest path to a cell that is farther than a gap from all points (count, 2). */
intptr_t way_off(Grid *grid, intptr_t start, const double *points_m, intptr_t count,
                 double gap_m, const double *discs, intptr_t disc_count, int32_t *cells);

/* Reduces a path's cells to the corners of straight lines over free floor; returns their number. */
intptr_t straighten(const Grid *grid, int32_t *cells, intptr_t count);
