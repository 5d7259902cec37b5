/** The common parts of the simulations of stores: plan of faults, tasks of a client, protected resource, and search of seeds. */
@NullMarked
package io.leasehold.verify.run;

import org.jspecify.annotations.NullMarked;
