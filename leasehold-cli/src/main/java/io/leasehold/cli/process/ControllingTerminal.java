package io.leasehold.cli.process;

import java.io.FileInputStream;
import java.io.IOException;

/** Whether this process has a terminal whose keyboard can signal it. */
public final class ControllingTerminal {

    private ControllingTerminal() {}

    /** Opening {@code /dev/tty} fails unless there is one; where standard input leads does not matter. */
    public static boolean exists() {
        try (FileInputStream terminal = new FileInputStream("/dev/tty")) {
            return terminal.getFD().valid();
        } catch (IOException none) {
            return false;
        }
    }
}
