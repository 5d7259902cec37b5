package io.leasehold.cli;

import io.leasehold.LeaseLostException;
import io.leasehold.LockBusyException;
import io.leasehold.LockStoreException;
import io.leasehold.PermitCountException;
import io.leasehold.StoreAccessException;
import io.leasehold.TicketRefusedException;
import io.leasehold.UnsafeStoreException;

/**
 * The failure of a Leasehold command: the exit code, and one human-readable sentence.
 *
 * @param code the exit code
 * @param reason the sentence
 */
public record Failure(ExitCode code, String reason) {

    /** Translates an exception of the API. */
    public static Failure of(Throwable problem) {
        return new Failure(codeOf(problem), reasonOf(problem));
    }

    /** Anything that Leasehold did not expect, whatever its type. */
    static Failure internal(Throwable problem) {
        return new Failure(ExitCode.INTERNAL, internalReason(problem));
    }

    private static ExitCode codeOf(Throwable problem) {
        if (problem instanceof StoreAccessException) {
            return ExitCode.ACCESS;
        } else if (problem instanceof UnsafeStoreException) {
            return ExitCode.UNSAFE;
        } else if (problem instanceof PermitCountException) {
            return ExitCode.USAGE;
        } else if (problem instanceof LockStoreException) {
            return ExitCode.STORE_UNAVAILABLE;
        } else if (problem instanceof LockBusyException) {
            return ExitCode.BUSY;
        } else if (problem instanceof LeaseLostException || problem instanceof TicketRefusedException) {
            return ExitCode.LEASE_LOST;
        } else if (problem instanceof IllegalArgumentException) {
            return ExitCode.USAGE;
        }
        return ExitCode.INTERNAL;
    }

    private static String reasonOf(Throwable problem) {
        return codeOf(problem) == ExitCode.INTERNAL ? internalReason(problem) : said(problem);
    }

    private static String internalReason(Throwable problem) {
        return "internal error: " + problem.getClass().getSimpleName() + ": " + said(problem);
    }

    private static String said(Throwable problem) {
        String message = problem.getMessage();
        return message == null || message.isBlank() ? problem.getClass().getName() : message;
    }
}
