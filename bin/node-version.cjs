// Ends at once on a Node that is too old, before anything is loaded that such a Node can not read or would crash on.
// The same bound stands in package.json, under engines.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  const found = process.versions.node
  console.error(
    `postern: Postern needs Node 20.19 or newer, and this is Node ${found}: install a newer one (https://nodejs.org)`,
  )
  process.exit(78)
}
