export function bundleProgram(program: string): Promise<string>;
