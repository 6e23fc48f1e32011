#include <stdio.h>
#include "words.h"

int main(int count, char **arguments) {
    printf("%s, %s!\n", greeting(), count > 1 ? arguments[1] : "world");
    return 0;
}
