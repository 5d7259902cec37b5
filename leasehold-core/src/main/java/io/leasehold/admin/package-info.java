/**
 * What an operator asks and does: {@link io.leasehold.admin.LockAdmin} and the values that it answers with. An application that only
 * takes locks needs none of it.
 */
@NullMarked
package io.leasehold.admin;

import org.jspecify.annotations.NullMarked;
