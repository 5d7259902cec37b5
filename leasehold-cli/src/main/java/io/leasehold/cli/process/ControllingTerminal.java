package io.leasehold.cli.process;

import java.io.FileInputStream;
import java.io.IOException;

/** The terminal whose keyboard can signal this process. */
public final class ControllingTerminal {

    private ControllingTerminal() {}

    /** Whether there is one: otherwise opening {@code /dev/tty} fails. Standard input does not matter. */
    public static boolean exists() {
        try (FileInputStream terminal = new FileInputStream("/dev/tty")) {
            return terminal.getFD().valid();
        } catch (IOException none) {
            return false;
        }
    }
}
