/** Child JVMs that tests run, freeze and kill, to see what other processes see of it. Needs a POSIX system. */
@NullMarked
package io.leasehold.testkit.process;

import org.jspecify.annotations.NullMarked;
