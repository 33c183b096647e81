#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "looks.h"

#include "depth.h"

/* MuJoCo's numbers of kinds. */
enum { SPHERE = 2, CAPSULE = 3, ELLIPSOID = 4, CYLINDER = 5, BOX = 6 };

/* A ray in a shape's frame: from `o` along `d`, whose part along the optical axis is 1, so that
 * the time to a hit is its depth. */
typedef struct { double o[3], d[3]; } Ray;
typedef struct { double left, right, top, bottom; } Window;

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

/* When a ray enters what is between two planes on each of `count` axes; INFINITY if it does not. */
static double enter_slabs(const Ray *ray, const double *half, int first, int count) {
    double enters = -INFINITY, leaves = INFINITY;
    for (int i = first; i < first + count; i++) {
        const double once = 1.0 / ray->d[i];
        double a = (-half[i] - ray->o[i]) * once, b = (half[i] - ray->o[i]) * once;
        if (ray->d[i] == 0.0) {
            if (fabs(ray->o[i]) > half[i]) return INFINITY;
            continue;
        }
        if (a > b) { const double swap = a; a = b; b = swap; }
        enters = most(enters, a);
        leaves = least(leaves, b);
    }
    return enters <= leaves ? enters : INFINITY;
}

/* When a ray enters the unit ball after its axes were scaled; INFINITY if it does not. */
static double enter_ball(const Ray *ray, double cx, double cy, double cz, const double r[3]) {
    const double o[3] = {(ray->o[0] - cx) / r[0], (ray->o[1] - cy) / r[1], (ray->o[2] - cz) / r[2]};
    const double d[3] = {ray->d[0] / r[0], ray->d[1] / r[1], ray->d[2] / r[2]};
    const double a = dot(d, d), b = dot(o, d), c = dot(o, o) - 1.0, inner = b * b - a * c;
    return inner < 0.0 ? INFINITY : (-b - sqrt(inner)) / a;
}

/* When a ray enters an endless cylinder along z; -INFINITY if it is within one for ever. */
static double enter_tube(const Ray *ray, double radius, double *leaves) {
    const double a = ray->d[0] * ray->d[0] + ray->d[1] * ray->d[1];
    const double b = ray->o[0] * ray->d[0] + ray->o[1] * ray->d[1];
    const double c = ray->o[0] * ray->o[0] + ray->o[1] * ray->o[1] - radius * radius;
    *leaves = INFINITY;
    if (a == 0.0) return c <= 0.0 ? -INFINITY : INFINITY;
    const double inner = b * b - a * c;
    if (inner < 0.0) return INFINITY;
    *leaves = (-b + sqrt(inner)) / a;
    return (-b - sqrt(inner)) / a;
}

static double enter_cylinder(const Ray *ray, const double size[3]) {
    double leaves;
    const double tube = enter_tube(ray, size[0], &leaves);
    if (tube == INFINITY) return INFINITY;
    const double half[3] = {0.0, 0.0, size[1]};
    const double caps = enter_slabs(ray, half, 2, 1);
    if (caps == INFINITY) return INFINITY;
    const double enters = most(tube, caps);
    if (enters > leaves) return INFINITY;
    const double z = ray->o[2] + enters * ray->d[2];
    return enters == tube && fabs(z) > size[1] ? INFINITY : enters;
}

static double enter_capsule(const Ray *ray, const double size[3]) {
    const double ball[3] = {size[0], size[0], size[0]};
    double leaves;
    const double tube = enter_tube(ray, size[0], &leaves);
    double enters = INFINITY;
    if (tube > -INFINITY && tube < INFINITY && fabs(ray->o[2] + tube * ray->d[2]) <= size[1])
        enters = tube;
    enters = least(enters, enter_ball(ray, 0.0, 0.0, size[1], ball));
    return least(enters, enter_ball(ray, 0.0, 0.0, -size[1], ball));
}

static double enter(int32_t kind, const double size[3], const Ray *ray) {
    const double ball[3] = {size[0], size[0], size[0]};
    switch (kind) {
        case BOX: return enter_slabs(ray, size, 0, 3);
        case SPHERE: return enter_ball(ray, 0.0, 0.0, 0.0, ball);
        case ELLIPSOID: return enter_ball(ray, 0.0, 0.0, 0.0, size);
        case CYLINDER: return enter_cylinder(ray, size);
        case CAPSULE: return enter_capsule(ray, size);
        default: return INFINITY;
    }
}

static void half_extents(int32_t kind, const double size[3], double half[3]) {
    half[0] = half[1] = half[2] = size[0];
    if (kind == BOX || kind == ELLIPSOID) { half[1] = size[1]; half[2] = size[2]; }
    if (kind == CYLINDER) half[2] = size[1];
    if (kind == CAPSULE) half[2] = size[0] + size[1];
}

static void widen(Window *window, const Lens *lens, const double point[3]) {
    const double u = point[0] / point[2] * lens->fx_px + lens->cx_px;
    const double v = point[1] / point[2] * lens->fy_px + lens->cy_px;
    window->left = least(window->left, u);
    window->right = most(window->right, u);
    window->top = least(window->top, v);
    window->bottom = most(window->bottom, v);
}

/* The part of the picture around a box, given its centre and half axes in the optical frame;
 * false if all of it is nearer than the lens' near, or farther than its far. */
static bool window_of(const Lens *lens, const double at[3], const double half_axes[3][3],
                      Window *window) {
    double corners[8][3];
    double nearest = INFINITY, farthest = -INFINITY;
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++)
            corners[i][k] = at[k] + (i & 1 ? 1 : -1) * half_axes[0][k] +
                            (i & 2 ? 1 : -1) * half_axes[1][k] + (i & 4 ? 1 : -1) * half_axes[2][k];
        nearest = least(nearest, corners[i][2]);
        farthest = most(farthest, corners[i][2]);
    }
    if (farthest < lens->near_m || nearest > lens->far_m) return false;
    *window = (Window){INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int i = 0; i < 8; i++) {
        if (corners[i][2] >= lens->near_m) widen(window, lens, corners[i]);
        for (int bit = 1; bit < 8; bit <<= 1) {
            if (i & bit) continue;
            /* An edge that crosses the near plane is cut there. */
            const double *a = corners[i], *b = corners[i | bit];
            if ((a[2] < lens->near_m) == (b[2] < lens->near_m)) continue;
            const double share = (lens->near_m - a[2]) / (b[2] - a[2]);
            double cut[3];
            for (int k = 0; k < 3; k++) cut[k] = a[k] + share * (b[k] - a[k]);
            widen(window, lens, cut);
        }
    }
    return true;
}

static void draw_shape(const Shapes *shapes, intptr_t number, const Eye *eye, float *depth_m) {
    const Lens *lens = &eye->lens;
    const double *at = shapes->at_m + 3 * number, *axes = shapes->axes + 9 * number;
    const double *size = shapes->sizes_m + 3 * number;
    const int32_t kind = shapes->kinds[number];
    double half[3], center[3], half_axes[3][3], from_shape[3];
    Ray ray;
    /* Per pixel, a ray's direction is right * u + down * v + ahead, in the shape's frame. */
    double right[3], down[3], ahead[3];
    half_extents(kind, size, half);
    for (int k = 0; k < 3; k++) from_shape[k] = eye->at_m[k] - at[k];
    for (int k = 0; k < 3; k++) {
        const double axis[3] = {axes[k], axes[3 + k], axes[6 + k]};
        ray.o[k] = dot(axis, from_shape);
        right[k] = dot(axis, eye->axes[0]);
        down[k] = dot(axis, eye->axes[1]);
        ahead[k] = dot(axis, eye->axes[2]);
        center[k] = -dot(eye->axes[k], from_shape);
        for (int i = 0; i < 3; i++) half_axes[k][i] = half[k] * dot(axis, eye->axes[i]);
    }
    Window window;
    if (!window_of(lens, center, half_axes, &window)) return;
    const int width = (int)lens->width_px, height = (int)lens->height_px;
    const int first = (int)most(ceil(window.left - 1e-9), 0.0);
    const int last = (int)least(floor(window.right + 1e-9), width - 1.0);
    const int top = (int)most(ceil(window.top - 1e-9), 0.0);
    const int bottom = (int)least(floor(window.bottom + 1e-9), height - 1.0);
    for (int row = top; row <= bottom; row++) {
        const double v = (row - lens->cy_px) / lens->fy_px;
        float *line = depth_m + (intptr_t)row * width;
        for (int column = first; column <= last; column++) {
            const double u = (column - lens->cx_px) / lens->fx_px;
            for (int k = 0; k < 3; k++) ray.d[k] = right[k] * u + down[k] * v + ahead[k];
            const double depth = enter(kind, size, &ray);
            if (depth >= lens->near_m && depth < line[column]) line[column] = (float)depth;
        }
    }
}

void draw_depth(const Shapes *shapes, const Eye *eye, float *depth_m) {
    const intptr_t pixels = (intptr_t)eye->lens.width_px * (intptr_t)eye->lens.height_px;
    for (intptr_t i = 0; i < pixels; i++) depth_m[i] = INFINITY;
    for (intptr_t i = 0; i < shapes->count; i++)
        if (!shapes->hidden[i]) draw_shape(shapes, i, eye, depth_m);
    for (intptr_t i = 0; i < pixels; i++)
        if (depth_m[i] > eye->lens.far_m) depth_m[i] = 0.0f;
}
