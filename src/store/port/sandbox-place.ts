/**
 * NAME      port/sandbox-place - up to where of the log the sandbox has reported
 */
export interface SandboxPlace {
  /** A mark of the log; null before the first. */
  sandboxPlace(): Promise<string | null>
  /** False, and nothing is changed, where it is no longer at `from`. */
  moveSandboxPlace(from: string | null, to: string): Promise<boolean>
}
