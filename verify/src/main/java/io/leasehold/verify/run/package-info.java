/**
 * The common parts of the simulations of stores: the plan of faults, the tasks of a client, the protected resource, and
 * the search over seeds.
 */
@NullMarked
package io.leasehold.verify.run;

import org.jspecify.annotations.NullMarked;
