#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ways.h"

/* The first two are what `free` says of a cell. */
enum { BARRED, UNKNOWN, OPEN, DONE };

/* Neighbours in the order of cell numbers, and the two beside a diagonal one. */
static const int NEAR[8][2] = {
    {-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}, {1, 1}};
static const int BESIDE[8][2] = {
    {1, 3}, {-1, -1}, {1, 4}, {-1, -1}, {-1, -1}, {3, 6}, {-1, -1}, {4, 6}};

/* The goal of a search: a cell, or if that is -1, any cell far enough from all points. */
typedef struct {
    intptr_t cell, row, column;
    const double *points_m;
    intptr_t count;
    double gap_m;
} Aim;

/* Costs of steps: 1 to the root of 2 up to some 1e-8, as integers, so that equal lengths compare
 * equal. Paths of up to 250,000 steps fit in 31 bits.
 */
enum { STRAIGHT = 5741, DIAGONAL = 8119 };

static double distance(const Grid *grid, intptr_t cell, double x_m, double y_m) {
    const double row = (double)(cell / grid->columns), column = (double)(cell % grid->columns);
    return hypot(grid->x_m + (column + 0.5) * grid->cell_m - x_m,
                 grid->y_m + (row + 0.5) * grid->cell_m - y_m);
}

/* Resets the search and blocks cells in discs, except for the start. */
static void begin(Grid *grid, intptr_t start, const double *discs, intptr_t count) {
    memcpy(grid->state, grid->free, (size_t)(grid->rows * grid->columns));
    for (const double *disc = discs; disc < discs + 3 * count; disc += 3) {
        const double x_m = disc[0], y_m = disc[1], radius_m = disc[2];
        const double reach = radius_m / grid->cell_m + 1.0;
        const double row = (y_m - grid->y_m) / grid->cell_m;
        const double column = (x_m - grid->x_m) / grid->cell_m;
        const intptr_t top = (intptr_t)fmax(0.0, floor(row - reach));
        const intptr_t left = (intptr_t)fmax(0.0, floor(column - reach));
        const intptr_t bottom = (intptr_t)fmin((double)grid->rows, ceil(row + reach));
        const intptr_t right = (intptr_t)fmin((double)grid->columns, ceil(column + reach));
        for (intptr_t r = top; r < bottom; r++)
            for (intptr_t c = left; c < right; c++) {
                const intptr_t cell = r * grid->columns + c;
                if (distance(grid, cell, x_m, y_m) <= radius_m)
                    grid->state[cell] = BARRED;
            }
    }
    grid->state[start] = UNKNOWN;
}

/* Whether the neighbour of a cell in a direction is free. */
static bool is_free(const Grid *grid, intptr_t row, intptr_t column, int direction) {
    row += NEAR[direction][0];
    column += NEAR[direction][1];
    if (row < 0 || row >= grid->rows || column < 0 || column >= grid->columns) return false;
    return grid->state[row * grid->columns + column] != BARRED;
}

static void put(Grid *grid, intptr_t place, int32_t cell) {
    grid->heap[place] = cell;
    grid->place[cell] = (int32_t)place;
}

static void rise(Grid *grid, intptr_t place) {
    const int32_t cell = grid->heap[place];
    while (place > 0 && grid->order[cell] < grid->order[grid->heap[(place - 1) / 2]]) {
        put(grid, place, grid->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(grid, place, cell);
}

static int32_t take_first(Grid *grid, intptr_t *waiting) {
    const int32_t first = grid->heap[0], last = grid->heap[--*waiting];
    intptr_t place = 0, child;
    while ((child = 2 * place + 1) < *waiting) {
        const int32_t *both = grid->heap + child;
        if (child + 1 < *waiting && grid->order[both[1]] < grid->order[both[0]]) child++;
        if (grid->order[grid->heap[child]] >= grid->order[last]) break;
        put(grid, place, grid->heap[child]);
        place = child;
    }
    if (*waiting) put(grid, place, last);
    return first;
}

/* Priority of a cell reached at a cost: lowest estimated total first, ties by higher cost. */
static uint64_t order_of(const Aim *aim, intptr_t row, intptr_t column, int32_t gone) {
    int32_t least = gone;
    if (aim->cell >= 0) {
        const int32_t down = abs((int)(row - aim->row));
        const int32_t across = abs((int)(column - aim->column));
        const int32_t both = down < across ? down : across;
        least += STRAIGHT * (down + across - 2 * both) + DIAGONAL * both;
    }
    return (uint64_t)least << 32 | (uint32_t)(INT32_MAX - gone);
}

static bool is_reached(const Grid *grid, const Aim *aim, intptr_t cell) {
    if (aim->cell >= 0) return cell == aim->cell;
    for (intptr_t i = 0; i < aim->count; i++)
        if (distance(grid, cell, aim->points_m[2 * i], aim->points_m[2 * i + 1]) <= aim->gap_m)
            return false;
    return true;
}

/* Adds the neighbour of a cell in a direction, or finds a shorter path to it. */
static void step(Grid *grid, const Aim *aim, intptr_t row, intptr_t column, int direction,
                 intptr_t *waiting) {
    const int dr = NEAR[direction][0], dc = NEAR[direction][1];
    const intptr_t cell = row * grid->columns + column, next = cell + dr * grid->columns + dc;
    if (grid->state[next] == DONE) return;
    const int32_t gone = grid->gone[cell] + (dr != 0 && dc != 0 ? DIAGONAL : STRAIGHT);
    const bool is_new = grid->state[next] == UNKNOWN;
    if (!is_new && gone >= grid->gone[next]) return;
    grid->gone[next] = gone;
    grid->before[next] = (int32_t)cell;
    grid->order[next] = order_of(aim, row + dr, column + dc, gone);
    grid->state[next] = OPEN;
    if (is_new) put(grid, (*waiting)++, (int32_t)next);
    rise(grid, grid->place[next]);
}

/* A*, without a goal cell Dijkstra's algorithm; returns the final cell, or -1. */
static int32_t search(Grid *grid, intptr_t start, const Aim *aim) {
    intptr_t waiting = 1;
    grid->gone[start] = 0;
    grid->before[start] = -1;
    grid->order[start] = order_of(aim, start / grid->columns, start % grid->columns, 0);
    grid->state[start] = OPEN;
    put(grid, 0, (int32_t)start);
    while (waiting) {
        const int32_t cell = take_first(grid, &waiting);
        if (is_reached(grid, aim, cell)) return cell;
        grid->state[cell] = DONE;
        const intptr_t row = cell / grid->columns, column = cell % grid->columns;
        bool free[8];
        for (int i = 0; i < 8; i++) free[i] = is_free(grid, row, column, i);
        for (int i = 0; i < 8; i++) {
            const bool passes = BESIDE[i][0] < 0 || (free[BESIDE[i][0]] && free[BESIDE[i][1]]);
            if (free[i] && passes) step(grid, aim, row, column, i, &waiting);
        }
    }
    return -1;
}

/* Traces a path from a cell back to the start of the search. */
static intptr_t trail(const Grid *grid, int32_t cell, int32_t *cells) {
    intptr_t count = 0;
    for (; cell >= 0; cell = grid->before[cell]) cells[count++] = cell;
    return count;
}

/* Whether two cells are connected: diagonal steps connect nothing that straight ones do not. */
static bool is_joined(Grid *grid, intptr_t start, intptr_t goal) {
    intptr_t found = 0, done = 0;
    uint8_t *seen = grid->state;
    int32_t *queue = grid->heap;
    queue[found++] = (int32_t)goal;
    seen[goal] = DONE;
    while (done < found && seen[start] != DONE) {
        const intptr_t cell = queue[done++];
        const intptr_t row = cell / grid->columns, column = cell % grid->columns;
        for (int i = 0; i < 8; i++) {
            if (BESIDE[i][0] >= 0 || !is_free(grid, row, column, i)) continue;
            const intptr_t next = cell + NEAR[i][0] * grid->columns + NEAR[i][1];
            if (seen[next] == DONE) continue;
            seen[next] = DONE;
            queue[found++] = (int32_t)next;
        }
    }
    const bool joined = seen[start] == DONE;
    for (intptr_t i = 0; i < found; i++) seen[queue[i]] = UNKNOWN;
    return joined;
}

intptr_t way_between(Grid *grid, intptr_t start, intptr_t goal, const double *discs,
                     intptr_t disc_count, int32_t *cells, double *length) {
    /* From the goal to the start, so that the trace is in the path's order. */
    const Aim aim = {start, start / grid->columns, start % grid->columns, NULL, 0, 0.0};
    begin(grid, start, discs, disc_count);
    if (grid->state[goal] == BARRED) return 0;
    /* Discs may block every path. A failing search visits the whole floor, which is much slower. */
    if (disc_count && !is_joined(grid, start, goal)) return 0;
    if (search(grid, goal, &aim) < 0) return 0;
    *length = (double)grid->gone[start] / STRAIGHT;
    return trail(grid, (int32_t)start, cells);
}

intptr_t way_off(Grid *grid, intptr_t start, const double *points_m, intptr_t count,
                 double gap_m, const double *discs, intptr_t disc_count, int32_t *cells) {
    const Aim aim = {-1, 0, 0, points_m, count, gap_m};
    begin(grid, start, discs, disc_count);
    const int32_t end = search(grid, start, &aim);
    const intptr_t found = end < 0 ? 0 : trail(grid, end, cells);
    for (intptr_t i = 0; i < found / 2; i++) {
        const int32_t cell = cells[i];
        cells[i] = cells[found - 1 - i];
        cells[found - 1 - i] = cell;
    }
    return found;
}

/* Whether the straight line between two cells stays on free floor. */
static bool sees(const Grid *grid, intptr_t a, intptr_t b) {
    const intptr_t row = a / grid->columns, column = a % grid->columns;
    const intptr_t down = b / grid->columns - row, across = b % grid->columns - column;
    const intptr_t most = labs(down) > labs(across) ? labs(down) : labs(across);
    const double steps = 2.0 * (double)(most > 0 ? most : 1);
    const double down_each = (double)down / steps, across_each = (double)across / steps;
    for (intptr_t i = 0; i <= 2 * most; i++) {
        const intptr_t r = (intptr_t)rint((double)i * down_each + (double)row);
        const intptr_t c = (intptr_t)rint((double)i * across_each + (double)column);
        if (!grid->free[r * grid->columns + c]) return false;
    }
    return true;
}

/* Each corner is the farthest cell visible from the previous one. */
intptr_t straighten(const Grid *grid, int32_t *cells, intptr_t count) {
    intptr_t corners = count < 1 ? 0 : 1, at = 0;
    while (at < count - 1) {
        intptr_t step = count - 1 - at;
        while (step > 1 && !sees(grid, cells[at], cells[at + step])) step--;
        at += step;
        cells[corners++] = cells[at];
    }
    return corners;
}
