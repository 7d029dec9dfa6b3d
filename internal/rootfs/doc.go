// Package rootfs is where the root filesystem of a native unit comes from: the
// host's own, a directory, an OCI image layout, an archive of an image, or a
// registry. All of it is hostile input.
//
// An image is read in three steps that can't reach each other's means. Layers are
// read as streams, and the bytes of their files go to numbered files in a folder of
// our own ([op]s remain). The ops are merged into one tree in memory, where links,
// whiteouts and hard links mean something and nothing on this machine does
// ([merge]). The merged tree is written down from its top, by names that were
// checked, below folders that were just made. So there is no step in which a path
// of the image is resolved by the kernel.
//
// What was written is kept in a store of trees by image id (§3), which is taken
// over the merged tree as it is on disk, entry by entry. A tree is looked over each
// time before it is handed out, and one that changed is never handed out.
package rootfs
