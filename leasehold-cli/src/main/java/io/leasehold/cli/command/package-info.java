/** The commands, one class each. */
@NullMarked
package io.leasehold.cli.command;

import org.jspecify.annotations.NullMarked;
