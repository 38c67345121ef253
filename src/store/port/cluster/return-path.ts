/**
 * NAME      port/cluster/return-path - the ring of keys that sign return paths, for all daemons
 */
export interface ReturnPathRing {
  /** As keys/return-path.ts wrote it; null: nobody has rotated a key. */
  returnPathRing(): Promise<string | null>
  /** False when it is not what it was taken for. */
  replaceReturnPathRing(was: string | null, is: string): Promise<boolean>
}
