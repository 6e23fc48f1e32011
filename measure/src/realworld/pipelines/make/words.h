#ifndef WORDS_H
#define WORDS_H
const char *greeting(void);
#endif
