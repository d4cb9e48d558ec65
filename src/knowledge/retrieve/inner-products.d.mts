export class InnerProducts {
  constructor(dimensions: number);
  ask(question: Float32Array): void;
  each(block: Float32Array, count: number, visit: (index: number, product: number) => void): void;
}
