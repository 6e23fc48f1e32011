// Error for a file that the action skips. The message is the reason.

export class Skip extends Error {}
