package io.leasehold.spring;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * A finding about a locked method, or about an entity that it writes.
 *
 * @param subject the readable name of the method, or the entity
 * @param problem the problem, as the rest of a sentence that begins with the subject
 * @param cure the change to make, as a sentence
 */
record LintFinding(String subject, String problem, String cure) {

    static LintFinding of(Method method, String problem, String cure) {
        return new LintFinding(shown(method), problem, cure);
    }

    static LockedUsageException refusal(Method method, String problem, String cure) {
        return new LockedUsageException(of(method, problem, cure));
    }

    static String shown(Method method) {
        return "@Locked method " + method.getDeclaringClass().getSimpleName() + "." + method.getName()
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }

    String text() {
        return subject + " " + problem + ". " + cure + ".";
    }
}
