/**
 * Names that models write, each with its character. HTML has two thousand more, which would take as much of the page as the
 * rest of this folder: they stay as they are written.
 */
const NAMED: ReadonlyMap<string, string> = new Map(
  (
    "amp & lt < gt > quot \" apos ' colon : sol / copy © reg ® trade ™ deg ° plusmn ± times × divide ÷ minus − " +
    "middot · bull • hellip … ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ laquo « raquo » " +
    "lsaquo ‹ rsaquo › sect § para ¶ dagger † permil ‰ euro € pound £ yen ¥ cent ¢ micro µ sup2 ² sup3 ³ frac12 ½ " +
    "frac14 ¼ frac34 ¾ larr ← uarr ↑ rarr → darr ↓ harr ↔ lArr ⇐ rArr ⇒ hArr ⇔ le ≤ ge ≥ ne ≠ asymp ≈ equiv ≡ " +
    "infin ∞ radic √ sum ∑ prod ∏ int ∫ part ∂ isin ∈ notin ∉ cap ∩ cup ∪ sub ⊂ forall ∀ exist ∃ empty ∅ check ✓ " +
    "alpha α beta β gamma γ delta δ epsilon ε theta θ lambda λ mu μ pi π rho ρ sigma σ tau τ phi φ omega ω Delta Δ " +
    "Sigma Σ Omega Ω auml ä ouml ö uuml ü Auml Ä Ouml Ö Uuml Ü szlig ß agrave à aacute á eacute é egrave è ecirc ê " +
    "ccedil ç ntilde ñ oslash ø aring å aelig æ iexcl ¡ iquest ¿"
  )
    .split(" ")
    .flatMap((name, at, all) => (at % 2 === 0 ? [[name, all[at + 1] ?? ""] as const] : []))
    .concat([
      ["nbsp", "\u00a0"],
      ["thinsp", "\u2009"],
      ["shy", "\u00ad"],
    ]),
);
const REFERENCE = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z][A-Za-z\d]{1,31}));/g;
const REPLACEMENT = "\ufffd";

/** Returns a text of Markdown with its character references as the characters that they stand for. */
export function decodeReferences(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(REFERENCE, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED.get(name) ?? whole;
    return characterOf(decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal));
  });
}

function characterOf(code: number): string {
  const isCharacter = code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff);
  return isCharacter ? String.fromCodePoint(code) : REPLACEMENT;
}
