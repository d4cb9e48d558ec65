import type { Vector, VectorEncoding } from "../../core/embedding.ts";

const BYTES_PER_NUMBER = 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Converts a vector to an encoding. Float32 values survive the conversion exactly. */
export function encodeVector(vector: Vector, encoding: VectorEncoding): Vector {
  if (encoding === "base64") return typeof vector === "string" ? vector : toBase64(vector);
  return typeof vector === "string" ? toNumbers(vector) : vector;
}

/** Returns the number of dimensions of a vector. */
export function dimensionsOf(vector: Vector): number {
  return typeof vector === "string"
    ? Buffer.byteLength(vector, "base64") / BYTES_PER_NUMBER
    : vector.length;
}

/** Returns true for a valid vector of an engine: finite numbers, or base64 of complete float32 values. */
export function isVector(value: unknown): value is Vector {
  if (Array.isArray(value)) return value.length > 0 && value.every(Number.isFinite);
  if (typeof value !== "string" || !BASE64.test(value)) return false;
  const dimensions = dimensionsOf(value);
  return dimensions > 0 && Number.isInteger(dimensions);
}

function toBase64(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * BYTES_PER_NUMBER);
  for (let index = 0; index < numbers.length; index++) {
    bytes.writeFloatLE(numbers[index] ?? 0, index * BYTES_PER_NUMBER);
  }
  return bytes.toString("base64");
}

function toNumbers(base64: string): readonly number[] {
  const bytes = Buffer.from(base64, "base64");
  const numbers = new Array<number>(Math.floor(bytes.length / BYTES_PER_NUMBER));
  for (let index = 0; index < numbers.length; index++) {
    numbers[index] = bytes.readFloatLE(index * BYTES_PER_NUMBER);
  }
  return numbers;
}
