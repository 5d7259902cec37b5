package io.leasehold.verify.variants;

/**
 * One production class or script with one rule left out, as a change of its source.
 *
 * @param name of the variant
 * @param broken what the rule says, and what is done instead
 * @param source the file, from the package root on
 * @param rule the text that states the rule; it must occur exactly once
 * @param without what stands there instead
 */
record Variant(String name, String broken, String source, String rule, String without) {

    /**
     * The source without the rule.
     *
     * @throws IllegalStateException if the rule is not there, or more than once: the variant has to follow the code
     */
    String applyTo(String text) {
        int at = text.indexOf(rule);
        if (at < 0 || text.indexOf(rule, at + 1) >= 0) {
            throw new IllegalStateException("variant " + name + ": \"" + rule + "\" must stand exactly once in "
                    + source + ", and does not; follow the code in Variants");
        }
        return text.replace(rule, without);
    }

    /** Whether it is a class; else it is a resource, a script. */
    boolean isClass() {
        return source.endsWith(".java");
    }
}
