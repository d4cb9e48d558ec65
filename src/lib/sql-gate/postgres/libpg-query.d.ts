declare module "libpg-query/wasm/libpg-query.js" {
  /** The part of the compiled parser that is used. Addresses are offsets in its memory. */
  export interface PgQueryInstance {
    readonly HEAPU8: Uint8Array;
    readonly lengthBytesUTF8: (text: string) => number;
    readonly stringToUTF8: (text: string, address: number, maxBytes: number) => void;
    readonly UTF8ToString: (address: number) => string;
    readonly getValue: (address: number, type: "i32") => number;
    readonly _malloc: (bytes: number) => number;
    readonly _free: (address: number) => void;
    readonly _wasm_parse_query_raw: (address: number) => number;
    readonly _wasm_free_parse_result: (address: number) => void;
  }

  // biome-ignore lint/style/noDefaultExport: it is how the package exports it
  export default function createInstance(options: {
    readonly instantiateWasm: (
      imports: WebAssembly.Imports,
      receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
    ) => object;
  }): Promise<PgQueryInstance>;
}
