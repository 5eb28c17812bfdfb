/** The part of WebAssembly's JavaScript interface that the sandbox uses. Neither TypeScript's esnext nor Node's types declare it. */
declare namespace WebAssembly {
  interface Module {
    readonly [Symbol.toStringTag]: 'WebAssembly.Module'
  }
  interface Memory {
    readonly buffer: ArrayBuffer
    grow(pages: number): number
  }
  interface Global {
    value: number
  }
  const Instance: new (
    module: Module,
    imports: Record<string, Record<string, unknown>>,
  ) => { readonly exports: Record<string, unknown> }
  function compile(binary: Uint8Array): Promise<Module>
}
