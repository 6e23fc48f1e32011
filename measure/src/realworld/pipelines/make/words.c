#include "words.h"

const char *greeting(void) {
    return "Hello";
}
