/** What the simulations of stores share: a plan of faults, the tasks of a client, what they protect, and the search of seeds. */
@NullMarked
package io.leasehold.verify.run;

import org.jspecify.annotations.NullMarked;
