package io.leasehold.cdi;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if {@link Locked}, or a setting {@code leasehold.*}, is used in a way that cannot work; the application does
 * not start.
 */
public final class LockedUsageException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    LockedUsageException(String problem, String cure) {
        this(problem, cure, null);
    }

    LockedUsageException(String problem, String cure, @Nullable Throwable cause) {
        super(problem + ". " + cure + ".", cause);
    }

    /**
     * Creates the refusal of a method.
     *
     * @param problem the problem, as the rest of a sentence that begins with the method
     * @param cure the change to make, as a sentence
     */
    static LockedUsageException of(Method method, String problem, String cure) {
        return new LockedUsageException(shown(method) + " " + problem, cure);
    }

    static String shown(Method method) {
        return "@Locked method " + method.getDeclaringClass().getSimpleName() + "." + method.getName()
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }
}
