export function innerProductsOf(dimensions: number): InnerProducts;
export class InnerProducts {
  constructor(dimensions: number, module: WebAssembly.Module | undefined);
  ask(question: Float32Array): void;
  each(block: Float32Array, count: number, visit: (index: number, product: number) => void): void;
}
