export function bundleProgram(program: string): Promise<string>;

export function nameBundledPrograms(
  source: string,
  path: string,
  made: { readonly main: string; readonly mainSource: string },
): string;
