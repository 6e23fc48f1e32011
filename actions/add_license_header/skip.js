// A file that is left as it is, with the reason.

export class Skip extends Error {}
