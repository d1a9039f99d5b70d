/* Floats as text: the shortest decimal that reads back as the same float32. */
#include "press.h"

#include <stdio.h>
#include <string.h>

static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* x ≥ 0 as `digits` · 10^−`places`, as few digits as read back; 0 where doubles are not exact enough.
 * Up to 2^53 and 10^22 both sides of a division are exact, so its result is what any reader gets. */
static int shortest(float x, uint64_t *digits, int *places) {
    if (!(x >= 1e-9f && x < 1e9f)) return 0;
    int exponent = 0; /* of ten, so that 10^exponent ≤ x < 10^(exponent + 1) */
    double value = (double)x;
    if (value >= 1.0)
        while (value >= TENS[exponent + 1]) exponent++;
    else
        while (value * TENS[-exponent] < 1.0) exponent--;
    for (int count = 1; count <= 9; count++) {
        int shift = count - 1 - exponent;
        if (shift > 22) return 0;
        double scaled = shift >= 0 ? value * TENS[shift] : value / TENS[-shift];
        uint64_t rounded = (uint64_t)(scaled + 0.5);
        double back = shift >= 0 ? (double)rounded / TENS[shift] : (double)rounded * TENS[-shift];
        if ((float)back == x) {
            *digits = rounded, *places = shift;
            return 1;
        }
    }
    return 0;
}

static char *write_digits(char *text, uint64_t digits, int least, int point) {
    char reversed[24];
    int length = 0;
    do reversed[length++] = (char)('0' + digits % 10), digits /= 10;
    while (digits);
    while (length < least) reversed[length++] = '0';
    while (length) {
        *text++ = reversed[--length];
        if (point && length == point) *text++ = '.';
    }
    return text;
}

/* digits · 10^−places, written as people do, or with an exponent where zeros would pile up. */
static char *write_number(char *text, uint64_t digits, int places) {
    int count = 1;
    while (digits % 10 == 0 && places > 0) digits /= 10, places--;
    for (uint64_t rest = digits; rest >= 10; rest /= 10) count++;
    int exponent = count - 1 - places;
    if (exponent >= -5) {
        for (; places < 0; places++) digits *= 10;
        return write_digits(text, digits, places + 1, places);
    }
    text = write_digits(text, digits, 1, count - 1);
    *text++ = 'e', *text++ = '-';
    return write_digits(text, (uint64_t)-exponent, 2, 0);
}

size_t press_json(const float *values, size_t count, char *text) {
    char *at = text;
    *at++ = '[';
    for (size_t i = 0; i < count; i++) {
        float x = values[i];
        uint64_t digits;
        int places;
        if (!(x - x == 0.0f)) return 0; /* not a number, or infinite */
        if (i) *at++ = ',';
        if (__builtin_signbit(x)) *at++ = '-', x = -x;
        if (x == 0.0f) { /* readers take a plain −0 for a whole number, which has no sign */
            *at++ = '0';
            if (at[-2] == '-') *at++ = '.', *at++ = '0';
        }
        else if (shortest(x, &digits, &places)) at = write_number(at, digits, places);
        else at += snprintf(at, 24, "%.9g", (double)x);
    }
    *at++ = ']';
    return (size_t)(at - text);
}
