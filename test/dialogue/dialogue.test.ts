/** The doors over small stages in memory: every row of the reply table, and the grammar. */
import { playAll } from './play-all.js'

playAll('.', 45)
