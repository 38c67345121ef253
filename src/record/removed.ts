/**
 * NAME      removed - the answer to a removal
 */

/** `object` is what it was. */
export const removed = <T extends string>(object: T, id: string) => ({ id, object, deleted: true as const })
