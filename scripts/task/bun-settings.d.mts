export const BUN_SETTINGS: Readonly<Record<string, string>>;
