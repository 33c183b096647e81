#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "looks.h"

/* The share of a projected box that shapes like cups and lamps cover. */
static const double FILL = 0.7;
/* Tolerance of slopes, for rounding. */
static const double ASIDE = 1e-6;

typedef struct { double low, high; } Span;

static const Span NOTHING = {INFINITY, -INFINITY};

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

static void widen(Span *span, double value) {
    span->low = least(span->low, value);
    span->high = most(span->high, value);
}

static double half_width_slope(const Lens *lens) { return lens->width_px / 2 / lens->fx_px; }
static double half_height_slope(const Lens *lens) { return lens->height_px / 2 / lens->fy_px; }

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void minus(const double a[3], const double b[3], double difference[3]) {
    for (int i = 0; i < 3; i++) difference[i] = a[i] - b[i];
}

/* A point of the map in the optical frame. */
static void to_optical(const Eye *eye, const double point[3], double optical[3]) {
    double from_eye[3];
    minus(point, eye->at_m, from_eye);
    for (int i = 0; i < 3; i++) optical[i] = dot(eye->axes[i], from_eye);
}

static void point_eye(Eye *eye, const Lens *lens, double x, double y, double z, double heading,
                      double tilt) {
    const double cp = cos(heading), sp = sin(heading), ct = cos(tilt), st = sin(tilt);
    const double axes[3][3] = {
        {sp, -cp, 0.0}, {-st * cp, -st * sp, -ct}, {ct * cp, ct * sp, -st}};
    eye->lens = *lens;
    eye->at_m[0] = x;
    eye->at_m[1] = y;
    eye->at_m[2] = z;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) eye->axes[i][j] = axes[i][j];
}

void place(Boxes *boxes, intptr_t row, double x, double y, double z, double yaw) {
    const double c = cos(yaw), s = sin(yaw), *half = boxes->halves_m + 3 * row;
    double *center = boxes->centers_m + 3 * row;
    double *point = boxes->points_m + 3 * (PROBES + CORNERS) * row;
    center[0] = x;
    center[1] = y;
    center[2] = z;
    for (int k = 0; k < PROBES + CORNERS; k++, point += 3) {
        const double along = half[0] * boxes->shares[3 * k];
        const double across = half[1] * boxes->shares[3 * k + 1];
        point[0] = x + along * c - across * s;
        point[1] = y + along * s + across * c;
        point[2] = z + half[2] * boxes->shares[3 * k + 2];
    }
}

/* Whether a box's centre is in the picture, within its slack. */
static bool in_picture(const Boxes *boxes, const Eye *eye, intptr_t row, double farthest_m) {
    const double *center = boxes->centers_m + 3 * row;
    const double slack = boxes->slacks_m[row];
    double at[3];
    to_optical(eye, center, at);
    if (!(eye->lens.near_m < at[2] && at[2] < eye->lens.far_m)) return false;
    if (!(fabs(at[0]) < at[2] * half_width_slope(&eye->lens) + slack)) return false;
    if (!(fabs(at[1]) < at[2] * half_height_slope(&eye->lens) + slack)) return false;
    if (row >= boxes->agents_from) return true;
    const double dx = center[0] - eye->at_m[0], dy = center[1] - eye->at_m[1];
    return dx * dx + dy * dy <= farthest_m * farthest_m;
}

static double cut(Span pixels, double last) {
    return least(most(pixels.high, 0.0), last) - least(most(pixels.low, 0.0), last);
}

/* The share of the picture covered by the bounding box of a box's corners, clipped at its edges. */
static double picture_share(const Eye *eye, const double corners[CORNERS][3]) {
    const Lens *lens = &eye->lens;
    Span across = NOTHING, down = NOTHING;
    for (int k = 0; k < CORNERS; k++) {
        double at[3];
        to_optical(eye, corners[k], at);
        const double depth = most(at[2], lens->near_m);
        widen(&across, at[0] / depth * lens->fx_px + lens->cx_px);
        widen(&down, at[1] / depth * lens->fy_px + lens->cy_px);
    }
    const double area = cut(across, lens->width_px - 1) * cut(down, lens->height_px - 1);
    return area / (lens->width_px * lens->height_px);
}

static const double (*points_of(const Boxes *boxes, intptr_t row))[3] {
    return (const double(*)[3])(boxes->points_m + 3 * (PROBES + CORNERS) * row);
}

intptr_t glance(const Boxes *boxes, Eye *eye, const Lens *lens, double x, double y, double z,
                double heading, double tilt, const intptr_t *from, intptr_t count, intptr_t own,
                const uint8_t *hidden, double farthest_m, double least_fraction, Look *look) {
    point_eye(eye, lens, x, y, z, heading, tilt);
    look->in_view = look->count = 0;
    for (intptr_t i = 0; i < count; i++) {
        const intptr_t row = from[i];
        if (row == own || !boxes->may_show[row]) continue;
        if (hidden && hidden[boxes->regions[row]]) continue;
        if (!in_picture(boxes, eye, row, farthest_m)) continue;
        look->view[look->in_view++] = row;
        const double fraction = FILL * picture_share(eye, points_of(boxes, row) + PROBES);
        /* An empty share is never visible, even without a minimum. */
        if (!(fraction >= least_fraction && fraction > 0.0)) continue;
        look->rows[look->count] = row;
        look->fractions[look->count++] = fraction;
    }
    return look->in_view;
}

/* The volume of the rays: up to a depth, between horizontal and vertical slopes. */
typedef struct {
    double depth_m;
    Span across, down;
    double across_stretch[2], down_stretch[2]; /* of a sphere's radius, at the low and high slope */
} Cone;

static void add_rays(const Boxes *boxes, const Eye *eye, Look *look, intptr_t i, Cone *cone,
                     double *nearest_m) {
    const double(*points)[3] = points_of(boxes, look->rows[i]);
    for (int k = 0; k < PROBES; k++) {
        double *ray = look->rays + 3 * (PROBES * i + k), *end = look->probes_m + 3 * (PROBES * i + k);
        minus(points[k], eye->at_m, ray);
        const double length = sqrt(dot(ray, ray));
        for (int j = 0; j < 3; j++) ray[j] /= length;
        to_optical(eye, points[k], end);
        *nearest_m = least(*nearest_m, end[2]);
        widen(&cone->across, end[0] / end[2]);
        widen(&cone->down, end[1] / end[2]);
    }
}

/* A little wider than the rays, but no wider than the picture. */
static Span narrowed(Span rays, double slope, bool ahead) {
    const Span picture = {-slope, slope};
    if (!ahead) return picture; /* Rays perpendicular to the view axis have no slope. */
    const Span both = {most(-slope, rays.low - ASIDE), least(slope, rays.high + ASIDE)};
    return both;
}

static Cone cone_of_rays(const Boxes *boxes, const Eye *eye, Look *look) {
    Cone cone = {-INFINITY, NOTHING, NOTHING, {0, 0}, {0, 0}};
    double nearest_m = INFINITY;
    for (intptr_t i = 0; i < look->count; i++) {
        const intptr_t row = look->rows[i];
        for (intptr_t k = boxes->geoms_from[row]; k < boxes->geoms_from[row + 1]; k++) {
            const intptr_t geom = boxes->geoms_of[k];
            double from_eye[3];
            minus(boxes->geom_at_m + 3 * geom, eye->at_m, from_eye);
            const double behind_m = dot(eye->axes[2], from_eye) + boxes->geom_radius_m[geom];
            cone.depth_m = most(cone.depth_m, behind_m);
        }
        add_rays(boxes, eye, look, i, &cone, &nearest_m);
    }
    const bool ahead = nearest_m > eye->lens.near_m;
    cone.across = narrowed(cone.across, half_width_slope(&eye->lens), ahead);
    cone.down = narrowed(cone.down, half_height_slope(&eye->lens), ahead);
    cone.across_stretch[0] = hypot(1.0, cone.across.low);
    cone.across_stretch[1] = hypot(1.0, cone.across.high);
    cone.down_stretch[0] = hypot(1.0, cone.down.low);
    cone.down_stretch[1] = hypot(1.0, cone.down.high);
    return cone;
}

static bool touches(Span slopes, const double stretch[2], double off, double depth, double radius) {
    return off < depth * slopes.high + radius * stretch[1] &&
           off > depth * slopes.low - radius * stretch[0];
}

static bool reaches(const Cone *cone, const Eye *eye, const double at_m[3], double radius) {
    double from_eye[3];
    minus(at_m, eye->at_m, from_eye);
    const double depth = dot(eye->axes[2], from_eye);
    if (!(depth > eye->lens.near_m - radius && depth - radius <= cone->depth_m)) return false;
    return touches(cone->across, cone->across_stretch, dot(eye->axes[0], from_eye), depth, radius) &&
           touches(cone->down, cone->down_stretch, dot(eye->axes[1], from_eye), depth, radius);
}

void aim(Boxes *boxes, const Eye *eye, int32_t unseen, int32_t through, const intptr_t *held,
         intptr_t held_count, Look *look) {
    const Cone cone = cone_of_rays(boxes, eye, look);
    for (intptr_t geom = 0; geom < boxes->geoms; geom++) {
        const int32_t group = boxes->groups[geom];
        const bool met = group != through && reaches(&cone, eye, boxes->geom_at_m + 3 * geom,
                                                     boxes->geom_radius_m[geom]);
        boxes->shown[geom] = met ? group : unseen;
    }
    for (intptr_t i = 0; i < held_count; i++)
        for (intptr_t k = boxes->geoms_from[held[i]]; k < boxes->geoms_from[held[i] + 1]; k++)
            boxes->shown[boxes->geoms_of[k]] = unseen;
}

void tally(const Boxes *boxes, const Eye *eye, const int32_t *hits, Look *look) {
    intptr_t kept = 0;
    for (intptr_t i = 0; i < look->count; i++) {
        const intptr_t row = look->rows[i];
        int met = 0;
        for (int k = 0; k < PROBES; k++) {
            const int32_t geom = hits[PROBES * i + k];
            met += geom >= 0 && boxes->instance_of_geom[geom] == boxes->instances[row];
        }
        if (!met) continue;
        double at[3];
        to_optical(eye, boxes->centers_m + 3 * row, at);
        look->rows[kept] = row;
        look->fractions[kept] = look->fractions[i] * ((double)met / PROBES);
        look->pixels[2 * kept] = at[0] / at[2] * eye->lens.fx_px + eye->lens.cx_px;
        look->pixels[2 * kept + 1] = at[1] / at[2] * eye->lens.fy_px + eye->lens.cy_px;
        look->distances_m[kept++] = at[2];
    }
    look->count = kept;
}
