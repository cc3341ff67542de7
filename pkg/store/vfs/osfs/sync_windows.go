package osfs

import "golang.org/x/sys/windows"

func syncHandle(handle uintptr) error { return windows.FlushFileBuffers(windows.Handle(handle)) }

// SyncDir does nothing: Windows has no such call for unprivileged programs.
func (FS) SyncDir(string) error { return nil }
