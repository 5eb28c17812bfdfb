/** The props of a page component. */
export interface PageProps {
  /** Parameters of the path, decoded. */
  params: Record<string, string>
}
