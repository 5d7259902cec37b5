/** Human-readable text, and JSON for scripts; external text reaches a terminal only escaped. */
@NullMarked
package io.leasehold.cli.output;

import org.jspecify.annotations.NullMarked;
