export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** For texts without backslash escapes: `standard_conforming_strings` is on everywhere and nobody may change it. */
export const quoteText = (value: string): string => `'${value.replaceAll("'", "''")}'`;
