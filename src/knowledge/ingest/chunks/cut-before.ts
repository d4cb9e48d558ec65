/** Sentences and words are looked for in the last part of a chunk, so that none is short without need. */
const LOOK_BACK_SHARE = 0.5;
const SENTENCE_END = new Set([".", "!", "?", "…"].map((character) => character.charCodeAt(0)));
/** They need no space after them. */
const WIDE_SENTENCE_END = new Set(["。", "！", "？", "｡", "।"].map((text) => text.charCodeAt(0)));
/** What may stand between the end of a sentence and the space. */
const CLOSING = new Set(
  ['"', "'", ")", "]", "}", "»", "”", "’", "」", "』", "）", "】"].map((text) =>
    text.charCodeAt(0),
  ),
);
const LINE_FEED = 0x0a;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * Returns where a text that is too long is best divided: after a sentence, else a line or a word in the second half
 * before `limit`, else after a grapheme. Always beyond `start`, which is the beginning of a grapheme, and at most
 * `limit`.
 */
export function cutBefore(text: string, start: number, limit: number): number {
  if (limit >= text.length) return text.length;
  const least = start + Math.floor((limit - start) * LOOK_BACK_SHARE);
  let line = 0;
  let word = 0;
  for (let at = limit; at > least; at -= 1) {
    if (!isGap(text, at) || !isBoundary(text, start, at)) continue;
    if (isSentenceEnd(text, at, start)) return at;
    if (text.charCodeAt(at) === LINE_FEED) line ||= at;
    else word ||= at;
  }
  return line || word || graphemeBefore(text, start, limit);
}

/**
 * Returns where a repetition of the text before `end` begins: after the first sentence from `from`, else at the first
 * word, else at the first grapheme; `end` when there is none. `start` is the beginning of a grapheme before `from`.
 */
export function overlapFrom(
  text: string,
  { start, from, end }: { readonly start: number; readonly from: number; readonly end: number },
): number {
  if (from === start) return from;
  let word = 0;
  for (let at = from; at < end; at += 1) {
    if (!isGap(text, at) || !isBoundary(text, start, at)) continue;
    if (isSentenceEnd(text, at, start)) return at;
    word ||= at;
  }
  if (word > 0) return word;
  const found = graphemes.segment(text.slice(start, end)).containing(from - start);
  if (found === undefined) return end;
  const boundary = start + found.index;
  return boundary === from ? from : Math.min(end, boundary + found.segment.length);
}

/** True where a text may be divided: before a space, or after the end of a sentence in a script without spaces. */
function isGap(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return isSpace(code) || WIDE_SENTENCE_END.has(text.charCodeAt(at - 1));
}

function isSpace(code: number): boolean {
  if (code < 0x2028) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  return code === 0x2028 || code === 0x2029 || code === 0x3000;
}

function isSentenceEnd(text: string, at: number, start: number): boolean {
  let before = at - 1;
  while (before > start && CLOSING.has(text.charCodeAt(before))) before -= 1;
  const code = text.charCodeAt(before);
  if (WIDE_SENTENCE_END.has(code)) return true;
  return SENTENCE_END.has(code) && isSpace(text.charCodeAt(at));
}

/** The last boundary between graphemes up to `limit`. A grapheme that is longer is divided between its characters. */
function graphemeBefore(text: string, start: number, limit: number): number {
  if (isPlain(text, limit)) return limit;
  const around = text.slice(start, limit + 2);
  const found = graphemes.segment(around).containing(limit - start)?.index ?? 0;
  if (found > 0) return start + found;
  const isPair = text.charCodeAt(limit - 1) >> 10 === 0x36;
  return isPair && limit - 1 > start ? limit - 1 : limit;
}

/** `start` is the beginning of a grapheme. */
function isBoundary(text: string, start: number, at: number): boolean {
  if (isPlain(text, at)) return true;
  return graphemes.segment(text.slice(start, at + 2)).containing(at - start)?.index === at - start;
}

/** True when both characters are of blocks without combining ones, so that a grapheme ends between them. */
function isPlain(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return isSimple(before) && isSimple(after) && !(before === 0x0d && after === 0x0a);
}

function isSimple(code: number): boolean {
  return (
    code < 0x300 ||
    (code >= 0x370 && code < 0x483) ||
    (code >= 0x48a && code < 0x530) ||
    (code >= 0x2010 && code <= 0x2027) ||
    (code >= 0x3001 && code <= 0x3029) ||
    (code >= 0x3041 && code <= 0x3096) ||
    (code >= 0x30a1 && code <= 0x30fa) ||
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xff01 && code <= 0xff60)
  );
}
