// The first file of a bundle, as bin/postern is of a checkout.
// Before anything is loaded: garbage dies young here, and a larger nursery in each thread wins no time.
import '../../bin/node-version.cjs'
import { setFlagsFromString } from 'node:v8'
import { prepareSqlite } from './native.cjs'

setFlagsFromString('--semi-space-growth-factor=1')
prepareSqlite()
import('@postern/main')
  .then(({ main }) => main(process.argv.slice(2)))
  .then((exit) => {
    process.exitCode = exit
  })
