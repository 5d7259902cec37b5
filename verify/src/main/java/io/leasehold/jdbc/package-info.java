/** Access to the stores for the simulator, which users do not get. */
@NullMarked
package io.leasehold.jdbc;

import org.jspecify.annotations.NullMarked;
