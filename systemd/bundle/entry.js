// The first file of a bundle, as bin/postern is of a checkout.
import '../../bin/node-version.cjs'
import { prepareSqlite } from './native.cjs'

prepareSqlite()
import('@postern/main')
  .then(({ main }) => main(process.argv.slice(2)))
  .then((exit) => {
    process.exitCode = exit
  })
