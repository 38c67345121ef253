/**
 * NAME      role - what a person may do
 */

/** The most first: each may do all that those after it may. */
export const ROLES = ['owner', 'member', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** Whether that role is enough where `least` is asked for. */
export const isAtLeast = (role: Role, least: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(least)
