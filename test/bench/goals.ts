/** How a figure stands to its goal, in words: goals are printed, never asserted. */
export const atLeast = (goal: number, value: number): string =>
  `goal >= ${goal}${value >= goal ? '' : '  <-- BELOW'}`

export const atMost = (goal: number, value: number, unit = ''): string =>
  `goal <= ${goal}${unit}${value <= goal ? '' : '  <-- ABOVE'}`
