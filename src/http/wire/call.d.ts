/** NAME      call - the types of hapi's router, which are published without any; as much of it as is used here */
declare module '@hapi/call' {
  export class Router<Row> {
    /** Throws for a second row of the same method and path. */
    add(config: { readonly method: string; readonly path: string }, row: Row): void
    /** An Error where there is no row, or the path cannot be decoded. */
    route(method: string, path: string): { readonly route: Row } | Error
  }
}
