/**
 * NAME      words - what of a text can be found by its words
 * DESCRIPTION
 *   One form for the text that is searched and for what is searched for: letters
 *   without case, accents and vowel points, words parted by anything that is no
 *   letter or number. Scripts that write no blanks (Chinese, Japanese, Thai and the
 *   like) have no words that we could know: there every part of a run is found.
 */

/** Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic; vowel signs of Indic scripts stay, they are letters. */
const POINTS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]/g
const WORD = /[\p{L}\p{N}\p{M}]+/gu
const UNPARTED =
  '\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}ー'
const RUN = new RegExp(`[${UNPARTED}]`, 'u')
const RUNS = new RegExp(`[${UNPARTED}]+|[^${UNPARTED}]+`, 'gu')
const PLAIN = /^[\x00-\x7f]*$/

/** Of a text, no more words are known than these; no honest subject has more. */
const MOST = 64

export const fold = (text: string): string =>
  PLAIN.test(text)
    ? text.toLowerCase()
    : text
        .normalize('NFKD')
        .replace(POINTS, '')
        .toLowerCase()
        .normalize('NFC')
        .replaceAll('ß', 'ss')
        .replaceAll('ς', 'σ')

export const wordsOf = (text: string): readonly string[] => (fold(text).match(WORD) ?? []).slice(0, MOST)

/** True where some of it is written without blanks between words. */
export const hasRuns = (word: string): boolean => !PLAIN.test(word) && RUN.test(word)

/** A word as an index has it: itself, or of a run each sign and each two signs that follow one another. */
export const piecesOf = (word: string): readonly string[] => {
  if (!hasRuns(word)) return [word]
  return (word.match(RUNS) ?? []).flatMap((part) => {
    if (!RUN.test(part)) return [part]
    const signs = [...part]
    return signs.flatMap((sign, i) => (i + 1 < signs.length ? [sign, `${sign}${signs[i + 1]}`] : [sign]))
  })
}

/** What must be in an index where this word is; the fewest pieces that say all. */
export const soughtOf = (word: string): readonly string[] => {
  if (!hasRuns(word)) return [word]
  return (word.match(RUNS) ?? []).flatMap((part, i, all) => {
    const signs = [...part]
    // at the edges of a run in letters, a word of the text may go on: 第3回 in 第32回 is none, abc注 in xabc注 may be
    if (!RUN.test(part)) return i > 0 && i + 1 < all.length ? [part] : []
    return signs.length === 1 ? signs : signs.slice(1).map((sign, n) => `${signs[n]}${sign}`)
  })
}

/** Words that follow one another, with a blank before each and after the last. */
export const lineOf = (words: readonly string[]): string => ` ${words.join(' ')} `
