/** The submission door over the real stages. */
import { playAll } from './play-all.js'

playAll('product', 10)
