/** What the simulator needs of the stores and users do not get. */
@NullMarked
package io.leasehold.jdbc;

import org.jspecify.annotations.NullMarked;
