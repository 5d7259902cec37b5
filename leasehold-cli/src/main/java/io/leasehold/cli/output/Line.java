package io.leasehold.cli.output;

/**
 * A line of output.
 *
 * @param style what its colour says
 * @param text any text
 */
public record Line(Style style, String text) {}
